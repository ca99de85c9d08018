"""Results as Plotly figures, the same for pages and reports."""

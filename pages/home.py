"""Home: what this is, one button, the models on the shelf."""

import streamlit as st

st.title("How far can a picture be disturbed?")

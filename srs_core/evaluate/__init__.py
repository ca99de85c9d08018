"""Many pictures: certify a test set, on one machine or on a Ray cluster, in files that survive a crash."""

"""The data of each view of the viewer's page: plain answers to plain questions."""

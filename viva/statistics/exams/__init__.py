"""The statistics of examiners: how often they were at fault, and what their faults did to the scores."""

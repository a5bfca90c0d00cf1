"""Calibration of a judge: what people say about the same scoring points, and how far the judge agrees with them."""

"""Verdicts that changed between two judgings, and whether more of them did than noise explains."""

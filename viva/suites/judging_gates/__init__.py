"""Gates on the judge: how many of its verdicts flipped, and what its score is after its error was corrected."""

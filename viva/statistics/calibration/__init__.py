"""How far a judge agrees with people about the scoring points of runs, and which judges gave the scores of a suite."""

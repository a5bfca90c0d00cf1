"""Reader of desktop and browser sessions: folders with one line per step, and screenshots."""

"""What judges' models were asked and what they answered: the records, and how a journal's line holds them."""

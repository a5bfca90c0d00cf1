"""What readers of formats make: drafts of cases, their points and turns, and the words for them."""

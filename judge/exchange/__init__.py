"""What judges' models are asked and what they answer, noted while a run is judged."""

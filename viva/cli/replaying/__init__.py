"""What `viva replay` does: prints stored conversations and what judges were asked, or asks another agent."""

"""Plans of deep-learning training steps."""

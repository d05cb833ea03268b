"""The components, as programs elsewhere use them."""

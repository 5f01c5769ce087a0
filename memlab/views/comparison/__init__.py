"""Steps of one network side by side: what each keeps alive at its peak, and what that costs."""

"""Live views: settings that are declared once, and one widget that shows any of them."""

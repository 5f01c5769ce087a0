"""Publishing of the site, and the doors that its pages have to notebooks elsewhere."""

"""The ten scenes, the sheet on which k, stride and padding change, and the real run."""

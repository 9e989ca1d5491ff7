"""The app's stacks on MiniStack, and a slide's whole path through the deployment: see docs/how-to/emulated.md."""

"""The app's stacks on MiniStack, and a slide's whole way through what was deployed: see docs/emulated.md."""

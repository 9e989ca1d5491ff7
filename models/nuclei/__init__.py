"""The network `nuclei`: nuclei in H&E at 0.5 um per px, learned from one annotated picture."""

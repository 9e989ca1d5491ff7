"""`make sbom`: CycloneDX lists of what Tessera ships."""

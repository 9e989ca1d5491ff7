"""The domain: slide, plan, shard, model card, job, result, and the use cases over small ports.

No AWS, no database, no torch, no network library is imported below this package (import-linter holds it).

    records/   frozen values: what the ledger stores and what the ports exchange
    ports/     the protocols that adapters implement; `memory/` ships an implementation of each
    slide/     reading slides: ranges, TIFF index, JPEG marker rule, levels, mpp, patches
    results/   writers: tables, GeoJSON, heatmap, summary
    *.py       use cases and pure decisions, one noun a file, in the order of a slide's way
"""

"""Traces: spans recorded by the OpenTelemetry SDK, and their way into files and AWS X-Ray, and back."""

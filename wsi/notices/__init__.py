"""Messages, e-mails and webhooks that are sent after a commit."""

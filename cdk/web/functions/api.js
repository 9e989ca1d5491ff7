// Before the API is asked: its firewall counts requests by viewer, and sees only CloudFront's addresses otherwise.
// Set here, so that what a viewer writes into the header is gone.
function handler(event) {
  event.request.headers['x-viewer-ip'] = { value: event.viewer.ip };
  return event.request;
}

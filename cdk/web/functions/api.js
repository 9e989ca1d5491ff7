// Before the API is asked: its firewall counts requests by viewer, and sees only CloudFront's addresses otherwise.
// Set here, so that what a viewer writes into the header is gone.
function handler(event) {
  event.request.headers['x-viewer-ip'] = { value: event.viewer.ip };
  // The gateway sends bytes only to who asks for image/jpeg first, and a browser's <img> asks for other things first.
  if (/(\.jpg|\/thumbnail)$/.test(event.request.uri)) {
    event.request.headers['accept'] = { value: 'image/jpeg' };
  }
  return event.request;
}

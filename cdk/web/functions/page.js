// Before the bucket is asked. The page finds its own way in paths without an extension (/jobs/…), so these get
// index.html. A file that is missing stays missing, and what belongs to the API is never answered with the page.
function handler(event) {
  const request = event.request;
  const last = request.uri.slice(request.uri.lastIndexOf('/') + 1);
  const ofApi = request.uri === '/api' || request.uri.startsWith('/api/');
  if (!ofApi && !last.includes('.')) request.uri = '/index.html';
  return request;
}

/** Whether somebody may be signed out without losing the thread of something: asked of whatever goes on in this tab. */
const LEAVING = 'tessera.leaving';

export function mayLeave(): boolean {
  return window.dispatchEvent(new Event(LEAVING, { cancelable: true }));
}

/** `objects` says whether something goes on now; returns what ends that. */
export function objectToLeaving(objects: () => boolean): () => void {
  const hear = (event: Event) => {
    if (objects()) event.preventDefault();
  };
  window.addEventListener(LEAVING, hear);
  return () => {
    window.removeEventListener(LEAVING, hear);
  };
}

/** Lets work in progress, such as uploads, object to signing out. */
const LEAVE_EVENT = 'tessera.leaving';

export function canLeave(): boolean {
  return window.dispatchEvent(new Event(LEAVE_EVENT, { cancelable: true }));
}

/** Object to leaving while `objects` returns true. Return a function that withdraws the objection. */
export function blockLeaving(objects: () => boolean): () => void {
  const hear = (event: Event) => {
    if (objects()) event.preventDefault();
  };
  window.addEventListener(LEAVE_EVENT, hear);
  return () => {
    window.removeEventListener(LEAVE_EVENT, hear);
  };
}

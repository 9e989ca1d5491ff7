import { extensions } from '@aws-appsync/utils';

// On a NONE data source. AppSync compares the payload with the invalidation filter of each open subscription, ends those
// that match, and closes their connections.
export function request(ctx) {
  return { payload: ctx.args };
}

export function response(ctx) {
  extensions.invalidateSubscriptions({ subscriptionField: 'onJobUpdate', payload: ctx.args });
  return ctx.result;
}

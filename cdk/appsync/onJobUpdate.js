import { extensions, util } from '@aws-appsync/utils';

export function request(ctx) {
  return { payload: null };
}

// The tenant is what our authorizer found in our own tables. An argument can narrow the filter to one job, never
// widen it: without the filter AppSync would match the arguments alone, and a job id of another tenant would do.
export function response(ctx) {
  const { tenant, subject } = ctx.identity.resolverContext;
  if (!tenant || !subject) {
    util.unauthorized();
  }
  const filter = { tenant: { eq: tenant } };
  if (ctx.args.jobId) {
    filter.jobId = { eq: ctx.args.jobId };
  }
  extensions.setSubscriptionFilter(util.transform.toSubscriptionFilter(filter));
  // Compared with the payload of endSubscriptions: an open subscription outlives its credential otherwise.
  const ended = { tenant: { eq: tenant }, subject: { in: [subject, '*'] } };
  extensions.setSubscriptionInvalidationFilter(util.transform.toSubscriptionFilter(ended));
  return null;
}

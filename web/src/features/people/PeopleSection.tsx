import { useState } from 'react';
import type { Role } from '../../session/roles';
import { Button } from '../../ui/Button';
import { Select } from '../../ui/fields/Select';
import { formatMoment } from '../../ui/format';
import { Loading } from '../../ui/messages/Loading';
import { Problem } from '../../ui/messages/Problem';
import { useToasts } from '../../ui/messages/toast_context';
import { type Column, Table } from '../../ui/Table';
import { AddDialog } from './AddDialog';
import { ConfirmButton } from './ConfirmButton';
import { type Change, type Invitation, type Person, ROLES, nameOf, useChange, useInvitations, useInvite, usePeople } from './queries';

const EMAIL = /^[^@\s]+@[^@\s]+\.[^@\s]+$/;

export function PeopleSection() {
  const people = usePeople();
  const invitations = useInvitations();
  const { mutate } = useChange();
  const pending = invitations.data?.items ?? [];
  return (
    <section aria-labelledby="people" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 id="people" className="text-lg font-semibold">
          People
        </h2>
        <InviteButton />
      </div>
      {people.isError && <Problem error={people.error} onRetry={() => void people.refetch()} />}
      {people.isPending && <Loading label="Loading people" className="h-40" />}
      {people.isSuccess && (
        <Table caption="People of your organisation" columns={listPersonColumns(mutate)} rows={people.data.items} keyOf={(one) => one.person_id} />
      )}
      {invitations.isError && <Problem error={invitations.error} onRetry={() => void invitations.refetch()} />}
      {pending.length > 0 && (
        <Table
          caption="Invitations that nobody has accepted yet"
          columns={listInvitationColumns(mutate)}
          rows={pending}
          keyOf={(one) => one.invitation_id}
        />
      )}
    </section>
  );
}

function InviteButton() {
  const toasts = useToasts();
  const [isOpen, setOpen] = useState(false);
  const invite = useInvite();
  const password = invite.data?.password;
  return (
    <>
      <Button
        look="primary"
        onClick={() => {
          setOpen(true);
        }}
      >
        Invite a person
      </Button>
      <AddDialog
        title="Invite a person"
        label="E-mail address"
        type="email"
        fault="Enter an e-mail address."
        isValid={(address) => EMAIL.test(address)}
        send="Invite"
        explanation="The person belongs to your organisation from the first sign-in on. The invitation works for three days."
        isOpen={isOpen}
        isSending={invite.isPending}
        error={invite.error}
        secret={password ? { label: 'Password for the first sign-in', value: password } : null}
        onSend={(email, role) => {
          invite.mutate(
            { email, role },
            {
              onSuccess: (invited) => {
                toasts.showSuccess(`${invited.email} is invited.`);
                if (invited.password === null) setOpen(false);
              },
            },
          );
        }}
        onClose={() => {
          setOpen(false);
          invite.reset();
        }}
      />
    </>
  );
}

const listPersonColumns = (change: (change: Change) => void): readonly Column<Person>[] => [
  { title: 'Person', isRowHeader: true, cell: (one) => <span className="wrap-anywhere">{nameOf(one)}</span> },
  {
    title: 'Role',
    cell: (person) => (
      <Select
        label={`Role of ${nameOf(person)}`}
        hideLabel
        className="w-32"
        disabled={person.disabled}
        options={ROLES.map(({ value }) => ({ value, label: value }))}
        value={person.role}
        onChange={({ target }) => {
          change({ kind: 'role', person, role: target.value as Role });
        }}
      />
    ),
  },
  {
    title: 'Access',
    cell: ({ disabled_at, created_at }) =>
      disabled_at === null ? `since ${formatMoment(created_at)}` : `disabled since ${formatMoment(disabled_at)}`,
    isForWide: true,
  },
  {
    title: 'Actions',
    hideTitle: true,
    cell: (person) =>
      person.disabled ? (
        <Button
          look="quiet"
          aria-label={`Enable ${nameOf(person)}`}
          onClick={() => {
            change({ kind: 'enable', person });
          }}
        >
          Enable
        </Button>
      ) : (
        <ConfirmButton
          label="Disable"
          name={nameOf(person)}
          title={`Disable ${nameOf(person)}?`}
          onConfirm={() => {
            change({ kind: 'disable', person });
          }}
        >
          The person is signed out and refused from now on. Slides, jobs and results stay.
        </ConfirmButton>
      ),
  },
];

const listInvitationColumns = (change: (change: Change) => void): readonly Column<Invitation>[] => [
  { title: 'Invited', isRowHeader: true, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
  { title: 'Role', cell: ({ role }) => role },
  { title: 'Until', isForWide: true, cell: ({ expires_at }) => formatMoment(expires_at) },
  {
    title: 'Actions',
    hideTitle: true,
    cell: (invitation) => (
      <ConfirmButton
        label="Withdraw"
        name={invitation.email}
        title={`Withdraw the invitation of ${invitation.email}?`}
        onConfirm={() => {
          change({ kind: 'withdraw', invitation });
        }}
      >
        The person can no longer accept it.
      </ConfirmButton>
    ),
  },
];

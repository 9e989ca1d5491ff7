/** This feature's queries to the API. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import { messageOf } from '../../api/problem';
import type { Schema } from '../../api/routes';
import type { Role } from '../../session/roles';
import { useToasts } from '../../ui/messages/toast_context';

export type Person = Schema<'PersonAnswer'>;
export type Invitation = Schema<'InvitationAnswer'>;
export type Invited = Schema<'InvitedAnswer'>;
export type Key = Schema<'KeyAnswer'>;
export type NewKey = Schema<'NewKeyAnswer'>;

/** The roles of a tenant, as people choose them. */
export const ROLES: readonly { value: Role; label: string }[] = [
  { value: 'viewer', label: 'Viewer: sees slides and results' },
  { value: 'analyst', label: 'Analyst: also uploads and analyses' },
  { value: 'admin', label: 'Admin: also manages people, keys and models' },
];

export function usePeople() {
  const api = useApi();
  return useQuery({ queryKey: ['people'], queryFn: ({ signal }) => api.get('/admin/people', { signal }) });
}

export function useInvitations() {
  const api = useApi();
  return useQuery({ queryKey: ['invitations'], queryFn: ({ signal }) => api.get('/admin/invitations', { signal }) });
}

export function useKeys() {
  const api = useApi();
  return useQuery({ queryKey: ['keys'], queryFn: ({ signal }) => api.get('/admin/keys', { signal }) });
}

/** Invites a person; the answer holds a password where no mail brings one. */
export function useInvite() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (invitation: { email: string; role: Role }) => api.post('/admin/invitations', { body: invitation }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['invitations'] }),
  });
}

/** Makes a key, or the successor of one. The answer is the only place that shows it. */
export function useNewKey() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (key: { name: string; role: Role }) => api.post('/admin/keys', { body: key }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['keys'] }),
  });
}

export type Change =
  | { kind: 'role'; person: Person; role: Role }
  | { kind: 'disable' | 'enable'; person: Person }
  | { kind: 'withdraw'; invitation: Invitation }
  | { kind: 'revoke'; key: Key };

/** Changes a person, an invitation or a key, and reports the outcome. */
export function useChange() {
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async (change: Change): Promise<string> => {
      if (change.kind === 'withdraw') {
        await api.delete('/admin/invitations/{invitation_id}', {
          path: { invitation_id: change.invitation.invitation_id },
        });
        return `The invitation of ${change.invitation.email} was withdrawn.`;
      }
      if (change.kind === 'revoke') {
        await api.delete('/admin/keys/{key_id}', { path: { key_id: change.key.key_id } });
        return `The key ${change.key.name} was revoked.`;
      }
      const body = change.kind === 'role' ? { role: change.role } : { disabled: change.kind === 'disable' };
      const changed = await api.patch('/admin/people/{person_id}', { path: { person_id: change.person.person_id }, body });
      return describe(changed);
    },
    onSuccess: (sentence) => {
      toasts.showSuccess(sentence);
    },
    onError: (error) => {
      toasts.showError(messageOf(error));
    },
    onSettled: () => Promise.all(['people', 'invitations', 'keys', 'me'].map((noun) => queries.invalidateQueries({ queryKey: [noun] }))),
  });
}

export const nameOf = ({ email, person_id }: Person): string => email ?? person_id;

const describe = (person: Person) => (person.disabled ? `${nameOf(person)} was disabled.` : `${nameOf(person)} is ${person.role} now.`);

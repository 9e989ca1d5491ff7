import { useMe } from '../../session/roles';
import { EmptyState } from '../../ui/messages/EmptyState';
import { Page } from '../../ui/Page';
import { KeysSection } from './KeysSection';
import { PeopleSection } from './PeopleSection';

/** The people and API keys of the organisation, for its admins. */
export default function PeoplePage() {
  const role = useMe().data?.role;
  return (
    <Page title="People and keys">
      {role === 'admin' && (
        <div className="flex flex-col gap-8">
          <PeopleSection />
          <KeysSection />
        </div>
      )}
      {role !== undefined && role !== 'admin' && (
        <EmptyState title="For admins">Ask an admin of your organisation to invite a person or to make a key.</EmptyState>
      )}
    </Page>
  );
}

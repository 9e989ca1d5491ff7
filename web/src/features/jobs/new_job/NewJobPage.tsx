import { useSearchParams } from 'react-router';
import { useHasRole, useMe } from '../../../session/roles';
import { ButtonLink } from '../../../ui/Button';
import { EmptyState } from '../../../ui/messages/EmptyState';
import { Loading } from '../../../ui/messages/Loading';
import { Page } from '../../../ui/Page';
import { Problem } from '../../../ui/messages/Problem';
import { useModels, useSlides } from '../queries';
import { NewJobForm } from './NewJobForm';

const MOST_SLIDES = 50; // as many as the list of slides lets the user choose

export default function NewJobPage() {
  const [search, setSearch] = useSearchParams();
  const ids = [...new Set(search.getAll('slide'))].slice(0, MOST_SLIDES);
  const me = useMe();
  const mayAnalyse = useHasRole('analyst');
  if (me.data && !mayAnalyse) return <NotAllowed />;
  if (ids.length === 0) return <NoSlideChosen />;
  return (
    <Page title={ids.length === 1 ? 'New job' : 'New jobs'}>
      <LoadedForm
        ids={ids}
        onDrop={(dropped) => {
          setSearch({ slide: ids.filter((id) => id !== dropped) }, { replace: true });
        }}
      />
    </Page>
  );
}

function LoadedForm({ ids, onDrop }: { ids: readonly string[]; onDrop: (slideId: string) => void }) {
  const models = useModels();
  const found = useSlides(ids);
  const failed = [models, ...found].find(({ isError }) => isError);
  if (failed) return <Problem error={failed.error} onRetry={() => void failed.refetch()} />;
  const slides = found.flatMap(({ data }) => data ?? []);
  if (!models.data || slides.length < ids.length) return <Loading label="Loading slides and models" className="h-96" />;
  if (models.data.length === 0) {
    return (
      <EmptyState title="There is no model yet">An administrator of this installation must register a model first.</EmptyState>
    );
  }
  return <NewJobForm slides={slides} models={models.data} onDrop={onDrop} />;
}

function NotAllowed() {
  return (
    <Page title="New job">
      <EmptyState title="Your role cannot start jobs" action={<ButtonLink to="/jobs">Go to the jobs</ButtonLink>}>
        Analysts and administrators start jobs. Ask your administrator for the analyst role.
      </EmptyState>
    </Page>
  );
}

function NoSlideChosen() {
  return (
    <Page title="New job">
      <EmptyState
        title="Which slide?"
        action={
          <ButtonLink look="primary" to="/slides?status=READY">
            Choose slides
          </ButtonLink>
        }
      >
        Open a slide and press “Analyse it”, or select several in the list.
      </EmptyState>
    </Page>
  );
}

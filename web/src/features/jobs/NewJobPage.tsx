import { useSearchParams } from 'react-router';
import { useMay, useMe } from '../../session/roles';
import { ButtonLink } from '../../ui/Button';
import { EmptyState } from '../../ui/EmptyState';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { useModels, useSlidesOf } from './jobs';
import { NewJobForm } from './NewJobForm';

const MOST = 50; // slides, as the list of slides lets one choose

export default function NewJobPage() {
  const [search, setSearch] = useSearchParams();
  const ids = [...new Set(search.getAll('slide'))].slice(0, MOST);
  const me = useMe();
  const mayAnalyse = useMay('analyst');
  if (me.data && !mayAnalyse) return <ForOthers />;
  if (ids.length === 0) return <WithoutSlide />;
  return (
    <Page title={ids.length === 1 ? 'New job' : 'New jobs'}>
      <Filled
        ids={ids}
        onDrop={(dropped) => {
          setSearch({ slide: ids.filter((id) => id !== dropped) }, { replace: true });
        }}
      />
    </Page>
  );
}

function Filled({ ids, onDrop }: { ids: readonly string[]; onDrop: (slideId: string) => void }) {
  const models = useModels();
  const found = useSlidesOf(ids);
  const failed = [models, ...found].find(({ isError }) => isError);
  if (failed) return <Problem error={failed.error} onRetry={() => void failed.refetch()} />;
  const slides = found.flatMap(({ data }) => data ?? []);
  if (!models.data || slides.length < ids.length) return <Loading label="Loading slides and models" className="h-96" />;
  if (models.data.length === 0) {
    return (
      <EmptyState title="There is no model yet">An administrator of this installation registers the first one.</EmptyState>
    );
  }
  return <NewJobForm slides={slides} models={models.data} onDrop={onDrop} />;
}

function ForOthers() {
  return (
    <Page title="New job">
      <EmptyState title="Your role only looks" action={<ButtonLink to="/jobs">Go to the jobs</ButtonLink>}>
        Jobs are started by analysts and administrators. Ask an administrator of your organisation for that role.
      </EmptyState>
    </Page>
  );
}

function WithoutSlide() {
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
        Open a slide and press “Analyse it”, or tick several in the list.
      </EmptyState>
    </Page>
  );
}

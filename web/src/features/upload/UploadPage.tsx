import { useCallback, useState } from 'react';
import { sentenceOf } from '../../api/problem';
import { useMay, useMe } from '../../session/roles';
import { EmptyState } from '../../ui/EmptyState';
import { Page } from '../../ui/Page';
import { useToasts } from '../../ui/toast_context';
import { NOTHING_TYPED, statedIn } from '../../ui/stated';
import { useUploads, useUploadsView } from './context';
import { Deidentification } from './Deidentification';
import { isDeidentifying, rememberDeidentifying } from './deidentification';
import { DropZone } from './DropZone';
import { groupSlides } from './grouping';
import { Options } from './Options';
import type { Picked } from './picked';
import { Strays } from './Strays';
import { TransferList } from './TransferList';
import { UnfinishedUploads } from './UnfinishedUploads';

export default function UploadPage() {
  const me = useMe();
  const isAllowed = useMay('analyst');
  return (
    <Page title="Upload">
      {isAllowed && <Upload />}
      {me.isSuccess && !isAllowed && (
        <EmptyState title="Your role does not upload slides">Ask an admin of your organisation for the role of an analyst.</EmptyState>
      )}
    </Page>
  );
}

function Upload() {
  const uploads = useUploads();
  const { strays } = useUploadsView();
  const say = useToasts();
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const [deidentify, setDeidentify] = useState(isDeidentifying);
  const { wrong } = statedIn(typed);
  const take = useCallback(
    (picked: Promise<Picked[]>) => {
      const { stated, wrong } = statedIn(typed);
      const [first] = Object.values(wrong);
      if (first !== undefined) {
        say.failed(`Correct the advanced fields first. ${first}`);
        return;
      }
      const add = async () => {
        const found = await groupSlides(await picked);
        uploads.add(found.slides, { ...stated, deidentify }, found.strays);
        setTyped(NOTHING_TYPED);
      };
      add().catch((error: unknown) => {
        say.failed(`What you chose could not be read: ${sentenceOf(error)}`);
      });
    },
    [uploads, typed, deidentify, say],
  );
  return (
    <>
      <DropZone onPick={take} />
      <Deidentification
        isWanted={deidentify}
        onChange={(isWanted) => {
          rememberDeidentifying(isWanted);
          setDeidentify(isWanted);
        }}
      />
      <Options typed={typed} wrong={wrong} onChange={setTyped} />
      <Strays
        strays={strays}
        onClose={() => {
          uploads.dropStrays();
        }}
      />
      <UnfinishedUploads />
      <TransferList />
    </>
  );
}

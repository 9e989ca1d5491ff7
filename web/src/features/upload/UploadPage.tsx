import { useCallback, useState } from 'react';
import { messageOf } from '../../api/problem';
import { useHasRole, useMe } from '../../session/roles';
import { EmptyState } from '../../ui/messages/EmptyState';
import { Page } from '../../ui/Page';
import { useToasts } from '../../ui/messages/toast_context';
import { NOTHING_TYPED, parseStated } from '../../ui/fields/stated_values';
import { useUploads, useUploadsView } from './context';
import { DeidentifyOption } from './options/DeidentifyOption';
import { readDeidentifySetting, saveDeidentifySetting } from './options/deidentify_setting';
import { DropZone } from './picking/DropZone';
import { groupSlides } from './picking/slide_grouping';
import { AdvancedOptions } from './options/AdvancedOptions';
import type { PickedFile } from './picking/file_picker';
import { IgnoredFiles } from './picking/IgnoredFiles';
import { TransferList } from './progress/TransferList';
import { UnfinishedUploads } from './progress/UnfinishedUploads';

export default function UploadPage() {
  const me = useMe();
  const isAllowed = useHasRole('analyst');
  return (
    <Page title="Upload">
      {isAllowed && <UploadForm />}
      {me.isSuccess && !isAllowed && (
        <EmptyState title="Your role cannot upload slides">Ask your administrator for the analyst role.</EmptyState>
      )}
    </Page>
  );
}

function UploadForm() {
  const uploads = useUploads();
  const { ignored } = useUploadsView();
  const toasts = useToasts();
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const [deidentify, setDeidentify] = useState(readDeidentifySetting);
  const { wrong } = parseStated(typed);
  const take = useCallback(
    (picked: Promise<PickedFile[]>) => {
      const { stated, wrong } = parseStated(typed);
      const [first] = Object.values(wrong);
      if (first !== undefined) {
        toasts.showError(`Correct the advanced fields first. ${first}`);
        return;
      }
      const add = async () => {
        const found = await groupSlides(await picked);
        uploads.add(found.slides, { ...stated, deidentify }, found.ignored);
        setTyped(NOTHING_TYPED);
      };
      add().catch((error: unknown) => {
        toasts.showError(`The chosen files could not be read: ${messageOf(error)}`);
      });
    },
    [uploads, typed, deidentify, toasts],
  );
  return (
    <>
      <DropZone onPick={take} />
      <DeidentifyOption
        isWanted={deidentify}
        onChange={(isWanted) => {
          saveDeidentifySetting(isWanted);
          setDeidentify(isWanted);
        }}
      />
      <AdvancedOptions typed={typed} wrong={wrong} onChange={setTyped} />
      <IgnoredFiles
        files={ignored}
        onClose={() => {
          uploads.clearIgnored();
        }}
      />
      <UnfinishedUploads />
      <TransferList />
    </>
  );
}

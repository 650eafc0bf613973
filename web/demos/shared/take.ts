// What one takes along from a demo: its weights as a file, and an address that says which run it was.

import { find, show } from './dom.js';
import type { Machine } from './protocol.js';
import { written } from './settings.js';

export interface Weights {
  /** Of the file, without its ending. */
  readonly name: () => string;
  readonly give: () => Promise<Uint8Array>;
  readonly take: (file: Uint8Array) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Makes the two buttons work. */
export function bringWeights({ name, give, take, failed }: Weights): void {
  const download = async (): Promise<void> => {
    const blob = new Blob([(await give()).slice()], { type: 'application/octet-stream' });
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${name()}.safetensors`;
    link.click();
    // Not at once: some engines begin to read it later.
    setTimeout(() => {
      URL.revokeObjectURL(link.href);
    }, 60_000);
    show('notice', `Saved ${link.download}, ${blob.size.toLocaleString('en')} bytes.`);
  };
  const upload = find<HTMLInputElement>('upload');
  const load = async (file: File): Promise<void> => {
    find('error').hidden = true;
    await take(new Uint8Array(await file.arrayBuffer()));
    show('notice', `Loaded the weights in ${file.name}.`);
  };
  find('download').addEventListener('click', () => {
    download().catch(failed);
  });
  upload.addEventListener('change', () => {
    const file = upload.files?.[0];
    // The same file may be chosen again.
    if (file) load(file).catch(failed).finally(() => (upload.value = '')); // prettier-ignore
  });
}

/** Writes the address of a run, and copies it when asked. `asked`: the other page is to run it too. */
export function linkTo(settings: Readonly<Record<string, unknown>>, asked: boolean): void {
  const query = new URLSearchParams(Object.entries(settings).map(([key, value]) => [key, written(value)]));
  const field = find<HTMLInputElement>('link');
  field.value = `${location.origin}${location.pathname}?${query.toString()}`;
  for (const id of ['to-plain', 'to-isolated']) {
    const link = find<HTMLAnchorElement>(id);
    link.search = asked ? query.toString() : '';
  }
  find('copy').onclick = () => {
    field.select();
    navigator.clipboard.writeText(field.value).then(
      () => {
        show('notice', 'The link is copied.');
      },
      () => {
        show('notice', 'The browser did not let this page copy; the link is selected, press Ctrl-C.');
      },
    );
  };
}

/** Says whether the page is isolated; and where the demos' own server has it, names the page of the other kind. */
export function nameOtherPage(): void {
  const served = document.querySelector('meta[name="omnigrad-demo"][content="served"]') !== null;
  const [, plain, rest] = /^\/(plain\/)?(.*)$/.exec(location.pathname) ?? [];
  find('isolated').hidden = !crossOriginIsolated;
  find('plain').hidden = crossOriginIsolated;
  for (const [id, path] of [
    ['to-plain', `/plain/${rest ?? ''}`],
    ['to-isolated', `/${rest ?? ''}`],
  ] as const) {
    const link = find<HTMLAnchorElement>(id);
    link.href = path;
    link.hidden = !served || (id === 'to-isolated') !== (plain !== undefined);
  }
}

/** As far as it was chosen. */
export const machinePart = (machine: Machine | undefined): Readonly<Record<string, unknown>> => ({
  ...(machine && machine.variant !== 'auto' ? { variant: machine.variant } : {}),
  ...(machine && machine.threads !== 'auto' ? { threads: machine.threads } : {}),
});

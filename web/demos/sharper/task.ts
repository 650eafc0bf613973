// A small network learns what cubic interpolation lacks, on crops of photographs; it is judged on one that it never saw.

import { type Tensor, interpolate, mseLoss, noGrad, scope } from 'omnigrad';
import * as optim from 'omnigrad/optim';
import { luma, photo } from '../shared/photos.js';
import { photoNames, photoTitles } from '../shared/photo_names.js';
import { failure } from '../shared/failure.js';
import { rateAt } from '../shared/rate.js';
import type { Settings } from '../shared/session.js';
import type { Data, Measure, Step, Task, Training } from '../shared/task.js';
import { type SharperRules, facts } from './facts.js';
import { SharperNet } from './model.js';
import { OwnPhoto, type Pixels, coloursOf, pixelsOf } from './own.js';
import { Crops, type Pair, type Score, halved, score } from './pictures.js';

export type { Pixels } from './own.js';

/** Cubic interpolation and the network, on the same picture. */
export interface Judged {
  readonly cubic: Score;
  readonly network: Score;
}

export interface SharperView {
  /** Steps that the network had taken. */
  readonly step: number;
  /** The photograph held back: its half doubled by cubic interpolation, by the network, and what it was. */
  readonly cubic: Pixels;
  readonly network: Pixels;
  readonly truth: Pixels;
  readonly held: Judged;
  /** The part of the visitor's photograph that is not trained on, if another part is. */
  readonly own: Judged | undefined;
}

export type SharperAnswers = {
  /** Doubles a picture, by cubic interpolation and by the network. */
  enlarge(picture: Pixels): { cubic: Pixels; network: Pixels };
  /** Halves a picture and doubles it again: how near both come to what it was. At least 40 pixels a side. */
  test(picture: Pixels): Judged;
  /** What the next run trains on besides; null: nothing. At least 160 pixels wide and 80 high. */
  give(picture: Pixels | null): true;
};

/** Pixels of a crop's side, before it is doubled. */
const side = 24;
const judgeEvery = 50;
const target = 1;

let given: Pixels | undefined;

const doubled = (picture: Tensor): Tensor => interpolate(picture, { scaleFactor: 2, mode: 'cubic' });

export class Sharper implements Training<SharperView, SharperAnswers> {
  readonly net: SharperNet;
  readonly parts;
  readonly answers: SharperAnswers = {
    enlarge: (picture) => this.#enlarge(picture),
    test: (picture) => this.#judgeColours(picture),
    give(picture) {
      if (picture) check(picture, 160, 80);
      given = picture ?? undefined;
      return true;
    },
  };
  readonly #settings: Settings<SharperRules>;
  readonly #optimizer: optim.AdamW;
  readonly #pairs: readonly Pair[];
  readonly #own = new OwnPhoto(given);
  /** The photograph held back, in colours, and its luma. */
  readonly #held: { readonly colours: Pair; readonly luma: Pair; readonly cubic: Score };
  readonly #still: Pick<SharperView, 'cubic' | 'truth'>;
  #crops: Crops | undefined;
  #step = 0;
  #view: SharperView | undefined;

  /** @param photos in colours, [1, 3, H, W] each; the first is held back */
  constructor([held, ...photos]: readonly Tensor[], settings: Settings<SharperRules>) {
    this.#settings = settings;
    this.net = new SharperNet(settings.base, settings.width);
    this.#optimizer = new optim.AdamW(this.net.parameters(), { lr: settings.lr, weightDecay: 0 });
    this.parts = { net: this.net, optimizer: this.#optimizer, own: this.#own };
    this.#pairs = photos.map((colours) => scope(() => halved(luma(colours))));
    const colours = halved(held as Tensor);
    // Halved as a picture is: in colours. What is judged is its luma.
    const grey = { large: luma(colours.large), small: luma(colours.small) };
    this.#held = { colours, luma: grey, cubic: scope(() => score(doubled(grey.small), grey.large)) };
    this.#still = scope(() => ({ cubic: pixelsOf(doubled(colours.small)), truth: pixelsOf(colours.large) }));
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- other tasks await their data
  async step(step: number): Promise<Step> {
    const { steps, lr, batch } = this.#settings;
    this.#optimizer.lr = rateAt(step, steps, lr);
    const loss = scope(() => {
      const { small, large } = this.#training.draw(batch);
      return this.#optimizer.minimize(() => mseLoss(this.net.call(small), large), { clipNorm: 1 });
    });
    this.#step = step;
    if (step % judgeEvery !== 0 && step !== this.#settings.steps) return { loss, items: batch };
    const { network, cubic } = this.#judge().held;
    const curves = { psnr: network.psnr, cubicPsnr: cubic.psnr, ssim: network.ssim, cubicSsim: cubic.ssim };
    return { loss, items: batch, curves };
  }

  // Made when the first is asked for: by then a run that goes on has its photograph back.
  get #training(): Crops {
    if (this.#crops) return this.#crops;
    const own = this.#own.training;
    const areas = this.#pairs.map(({ small }) => small.numel);
    // Half of the crops are of the visitor's.
    const all = areas.reduce((a, b) => a + b);
    this.#crops = own
      ? new Crops([...this.#pairs, own], side, [...areas, all])
      : new Crops(this.#pairs, side, areas);
    return this.#crops;
  }

  #judge(): SharperView {
    const { luma: grey, colours, cubic } = this.#held;
    const own = this.#own.judging;
    this.#view = noGrad(() =>
      scope((): SharperView => {
        const rest = this.net.rest(grey.small);
        return {
          ...this.#still,
          step: this.#step,
          network: pixelsOf(this.net.base(colours.small).add(rest)),
          held: { cubic, network: score(this.net.base(grey.small).add(rest), grey.large) },
          own: own && this.#judgePair(own),
        };
      }),
    );
    return this.#view;
  }

  #judgePair({ small, large }: Pair): Judged {
    return noGrad(() =>
      scope(() => ({
        cubic: score(doubled(small), large),
        network: score(this.net.call(small), large),
      })),
    );
  }

  #judgeColours(picture: Pixels): Judged {
    check(picture, 40, 40);
    return scope(() => {
      const { large, small } = halved(coloursOf(picture));
      return this.#judgePair({ large: luma(large), small: luma(small) });
    });
  }

  // The network knows brightness alone; what it adds is added to red, green and blue alike, which leaves hues as they are.
  #enlarge(picture: Pixels): { cubic: Pixels; network: Pixels } {
    check(picture, 8, 8);
    return noGrad(() =>
      scope(() => {
        const colours = coloursOf(picture);
        const network = this.net.base(colours).add(this.net.rest(luma(colours)));
        return { cubic: pixelsOf(doubled(colours)), network: pixelsOf(network) };
      }),
    );
  }

  renewed(step: number): void {
    this.#step = step;
    this.#view = undefined;
  }

  look(): SharperView {
    return this.#view ?? this.#judge();
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- other tasks await their data
  async measure(): Promise<Measure> {
    const { network, cubic } = this.#judge().held;
    const value = network.psnr - cubic.psnr;
    const said = ({ psnr, ssim }: Score): string => `${psnr.toFixed(2)} dB (SSIM ${ssim.toFixed(4)})`;
    return {
      value,
      reached: value >= target,
      text:
        `On ${photoTitles[this.#settings.held]}, which it was never trained on, the network reaches ${said(network)}, cubic ` +
        `interpolation ${said(cubic)}: ${value.toFixed(2)} dB more; the goal is ${target.toFixed(1)} dB.`,
    };
  }

  dispose(): void {
    this.#optimizer.dispose();
    this.#own.dispose();
    for (const { large, small } of [...this.#pairs, this.#held.colours, this.#held.luma]) {
      large.dispose();
      small.dispose();
    }
    this.net.dispose();
  }
}

function check({ width, height, data }: Pixels, least: number, high: number): void {
  if (width >= least && height >= high && data.length === 4 * width * height) return;
  const wanted = `at least ${least} x ${high} pixels`;
  throw failure('sharper', 'option', `the picture has ${width} x ${height} pixels; it must have ${wanted}`);
}

export const task: Task<SharperRules, SharperView, SharperAnswers> = {
  ...facts,
  async begin(data: Data, settings) {
    const names = [settings.held, ...photoNames.filter((name) => name !== settings.held)];
    const photos = await Promise.all(names.map((name) => photo(data, name)));
    return new Sharper(photos, settings);
  },
};

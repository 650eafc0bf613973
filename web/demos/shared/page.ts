// A demo's page: calls its worker, shows what it says. The address sets a run (`?seed=2&steps=200&lr=0.01`, and the
// task's own settings, `variant` and `threads`); one that sets anything starts it at once. `body[data-state]`, `#losses`
// (JSON, to the last bit) and `#hash` are for tests.

import type { OmnigradError } from 'omnigrad';
import { type Run, connect } from 'omnigrad/worker';
import { adviceFor } from './advice.js';
import type { ChartSpec } from './chart.js';
import { Curves } from './curves.js';
import type { Given } from './data.js';
import { find, show } from './dom.js';
import { type Form, settingsForm } from './form.js';
import { Progress } from './progress.js';
import type { Machine, Order, Remote, Report, Result } from './protocol.js';
import type { History, Settings } from './session.js';
import { type Rules, type Values, commonRules, complete, machineRules, readSettings } from './settings.js';
import { bringWeights, linkTo, machinePart, nameOtherPage } from './take.js';
import type { Answering, Facts } from './task.js';

/** `starting`: no build, or no network yet. `testing`: all steps are done. */
export type State = 'starting' | 'ready' | 'training' | 'paused' | 'testing' | 'done' | 'error';

export interface DemoSpec<R extends Rules, View> {
  readonly facts: Facts<R>;
  /** `() => new Worker(new URL('worker.js', import.meta.url), { type: 'module' })` */
  readonly worker: () => Worker;
  /** Default: the loss, and each of the task's curves by itself. */
  readonly charts?: readonly ChartSpec[];
  /** Draws what the task's `look` gave: before the first step, now and then, at the end. Stay under 20 ms. */
  draw(view: View): void;
  /** Hears of every change of state. */
  changed?(state: State): void;
}

/** What a page may do with its demo. */
export interface Demo<R extends Rules, Answers extends Answering> {
  readonly state: State;
  /** The settings of the run that is shown. */
  readonly settings: Settings<R>;
  /** Asks the worker, between two steps; undefined if that failed, which is then shown. */
  ask<K extends keyof Answers>(
    name: K,
    argument: Parameters<Answers[K]>[0],
  ): Promise<Awaited<ReturnType<Answers[K]>> | undefined>;
  /** Hands the task something of the visitor's, `given/NAME` among its data, or takes it back; ends the run and resets. */
  give(name: string, bytes: Uint8Array | null): Promise<void>;
  /** Shows an error that harms no run, with advice by its code. */
  complain(error: unknown): void;
}

const labels: Record<State, string> = {
  starting: 'Starting…',
  ready: 'Start',
  training: 'Pause',
  paused: 'Resume',
  testing: 'Testing…',
  done: 'Start again',
  error: 'Try again',
};

/** How often a run goes on by itself after its worker has died. */
const restarts = 2;

/** Brings a page to life that has the shell's elements. Its types are those of the task that the worker serves. */
export function mountDemo<R extends Rules, View, Answers extends Answering>(
  spec: DemoSpec<R, View>,
): Demo<R, Answers> {
  return new Page<R, View, Answers>(spec);
}

class Page<R extends Rules, View, Answers extends Answering> implements Demo<R, Answers> {
  state: State = 'starting';
  settings: Settings<R>;
  readonly #spec: DemoSpec<R, View>;
  readonly #form: Form<Rules>;
  readonly #progress: Progress<View>;
  #job: Remote<R, View, Answers> | undefined;
  #machine: Machine | undefined;
  /** The run that is shown; another may still be ending. */
  #run: Run<Report<View>, Result<View>> | undefined;
  #worker: number | undefined;
  #given: Given = {};
  #holding = false;
  #kept: { readonly history: History; readonly from: 'stored' | Uint8Array } | undefined;

  constructor(spec: DemoSpec<R, View>) {
    this.#spec = spec;
    const { facts } = spec;
    const rules: Rules = { ...commonRules(facts.defaults), ...facts.rules, ...machineRules };
    const { values, problems } = readSettings(new URLSearchParams(location.search), rules);
    this.#form = settingsForm(find('fields'), rules);
    this.#form.write(values);
    this.settings = this.#split(complete(rules, values)).settings;
    const charts = spec.charts ?? ['loss', ...facts.curves].map((name) => ({ title: name, curves: { [name]: name } })); // prettier-ignore
    this.#progress = new Progress({
      charts,
      unit: facts.unit,
      draw: (view) => {
        spec.draw(view);
      },
    });
    this.#progress.clear(this.settings);
    this.#listen();
    nameOtherPage();
    this.#describe();
    if (problems.length > 0) this.#tell('setting', problems.join('. '));
    this.#enter('starting');
    const asked = problems.length === 0 && location.search !== '';
    this.#open(asked).catch(this.fail);
  }

  async ask<K extends keyof Answers>(
    name: K,
    argument: Parameters<Answers[K]>[0],
  ): Promise<Awaited<ReturnType<Answers[K]>> | undefined> {
    try {
      return await this.#running.ask({ name, argument });
    } catch (error) {
      if ((error as Partial<OmnigradError>).code !== 'cancelled') this.complain(error);
      return undefined;
    }
  }

  async give(name: string, bytes: Uint8Array | null): Promise<void> {
    const others = Object.entries(this.#given).filter(([other]) => other !== name);
    this.#given = Object.fromEntries(bytes ? [...others, [name, bytes]] : others);
    // A page that gives at once is before the build; that begins with it.
    if (this.state !== 'starting') await this.#reset().catch(this.fail);
  }

  readonly fail = (error: unknown): void => {
    this.complain(error);
    const { step } = this.#progress.curves;
    show('summary', `Stopped by an error${step > 0 ? `, after step ${step}` : ''}.`);
    if (find('variant').textContent === '–') show('reason', 'No build is running.');
    const copy = this.#run?.checkpoint as Uint8Array | undefined;
    this.#run = undefined;
    this.#enter('error');
    void this.#offerKept(copy);
  };

  complain(error: unknown): void {
    const { code = 'unknown', message = String(error) } = error as Partial<OmnigradError>;
    this.#tell(code, message);
  }

  #tell(code: string, message: string): void {
    show('error-text', message);
    show('error-advice', adviceFor(code));
    find('error').hidden = false;
  }

  get #running(): Remote<R, View, Answers> {
    return (this.#job ??= connect<unknown>(this.#spec.worker, { restarts }) as unknown as Remote<R, View, Answers>); // prettier-ignore
  }

  /** What the fields or the address say, in its two parts. */
  #split(all: Values<Rules>): Order<R> {
    const { variant, threads, ...settings } = all as unknown as Machine & Settings<R>;
    const data = new URL('../data/', location.href).href;
    return { settings: settings as unknown as Settings<R>, machine: { variant, threads, data }, given: this.#given }; // prettier-ignore
  }

  #read(): Order<R> | undefined {
    const all = this.#form.read();
    return all && this.#split(all);
  }

  #enter(next: State): void {
    this.state = next;
    document.body.dataset.state = next;
    const primary = find<HTMLButtonElement>('primary');
    primary.textContent = labels[next];
    const reset = find<HTMLButtonElement>('reset');
    primary.disabled = reset.disabled = !this.#machine && next === 'starting';
    // Not `disabled`: the focus would be lost from under the fingers.
    primary.setAttribute('aria-disabled', String(next === 'starting' || next === 'testing'));
    reset.setAttribute('aria-disabled', String(next === 'starting' || next === 'ready'));
    for (const id of ['download', 'upload'])
      find<HTMLButtonElement>(id).disabled = next === 'starting' || next === 'error';
    this.#spec.changed?.(next);
  }

  /** Starts the build that the fields ask for, and a network to look at. */
  async #open(begin: boolean): Promise<void> {
    const order = this.#read();
    if (!order) {
      this.#enter('ready');
      return;
    }
    await this.#startBuild(order.machine);
    const history = await this.#running.stored();
    // An address that names a run is asking for it; one that was left half way goes on.
    if (begin) {
      const same = history && JSON.stringify(history.settings) === JSON.stringify(order.settings);
      await this.#train(order, same && history.losses.length < order.settings.steps ? history : undefined);
      return;
    }
    if (history) this.#offer(history, 'stored');
    await this.#prepare(order);
  }

  async #startBuild(machine: Machine): Promise<void> {
    const { variant, threads, reason } = await this.#running.start(machine);
    this.#machine = machine;
    show('variant', variant);
    show('threads-running', String(threads));
    const count = threads === 1 ? 'one thread' : `${threads} threads`;
    show('reason', `The ${variant} build, on ${count}: ${reason.message}.`);
    find('reason').dataset.code = reason.code;
  }

  async #prepare(order: Order<R>): Promise<void> {
    this.settings = order.settings;
    this.#progress.clear(order.settings);
    this.#progress.look(await this.#running.prepare(order));
    show('summary', 'Ready. Press Start to train.');
    this.#enter('ready');
  }

  /** Ends what runs, and begins what the fields say or goes on with what was kept. */
  async #train(order: Order<R>, history?: History, from: 'stored' | Uint8Array = 'stored'): Promise<void> {
    this.#clean();
    this.#enter('starting');
    const before = this.#run;
    this.#run = undefined;
    await before?.cancel();
    const { variant, threads } = order.machine;
    if (variant !== this.#machine?.variant || threads !== this.#machine.threads) {
      this.#job?.close();
      this.#job = this.#machine = undefined;
      await this.#startBuild(order.machine);
    }
    this.settings = order.settings;
    this.#progress.clear(order.settings, history && Curves.from(history));
    const { seed, steps } = order.settings;
    show(
      'summary',
      history
        ? `Going on after step ${history.losses.length} of ${steps}.`
        : `Training from seed ${seed}, for ${steps} steps.`,
    );
    this.#worker = undefined;
    this.#run = this.#running.train(history ? { ...order, from } : order);
    this.#describe();
    this.#enter('training');
    await this.#follow(this.#run);
  }

  async #follow(mine: Run<Report<View>, Result<View>>): Promise<void> {
    try {
      for await (const report of mine) {
        if (mine !== this.#run) return;
        this.#progress.add(report);
        if (report.worker !== (this.#worker ??= report.worker)) {
          this.#worker = report.worker;
          show('notice', `The browser ended the worker. Another one went on; nothing was lost.`);
        }
        if (this.state !== 'training') continue;
        if (report.step === this.settings.steps) {
          this.#progress.draw();
          this.#enter('testing');
        } else this.#progress.tell();
      }
      const result = await mine;
      if (mine === this.#run) this.#finish(result);
    } catch (error) {
      // One that was ended for another is nobody's.
      if (mine === this.#run) throw error;
    }
  }

  #finish({ measure, hash, view }: Result<View>): void {
    this.#progress.look(view);
    show('measure', measure.text);
    find('measure').dataset.reached = String(measure.reached ?? 'no target');
    find('measure').hidden = false;
    show('losses', JSON.stringify(this.#progress.curves.loss.values));
    show('hash', hash ?? '');
    show('summary', `Done after ${this.settings.steps} steps: ${this.#progress.sofar()}. ${measure.text}`);
    this.#enter('done');
  }

  /** Takes away what belongs to the run before. */
  #clean(): void {
    for (const id of ['error', 'offer', 'measure']) find(id).hidden = true;
    for (const id of ['losses', 'hash', 'measure', 'notice']) show(id, '');
    this.#kept = undefined;
  }

  async #pause(): Promise<void> {
    const mine = this.#run;
    if (!mine || this.#holding) return;
    this.#holding = true;
    try {
      await mine.pause();
      const view = await this.#running.keep();
      if (mine !== this.#run || this.state !== 'training') return;
      this.#progress.look(view);
      const { step } = this.#progress.curves;
      show('summary', `Paused after step ${step} of ${this.settings.steps}: ${this.#progress.sofar()}.`);
      this.#enter('paused');
    } finally {
      this.#holding = false;
    }
  }

  async #reset(): Promise<void> {
    const order = this.#read();
    if (!order || this.state === 'starting') return;
    this.#clean();
    this.#enter('starting');
    const before = this.#run;
    this.#run = undefined;
    await before?.cancel();
    await this.#running.forget();
    await this.#prepare({ ...order, machine: this.#machine ?? order.machine });
  }

  /** Offers to go on with a run that is kept. */
  #offer(history: History, from: 'stored' | Uint8Array): void {
    this.#kept = { history, from };
    const { losses, settings } = history;
    const over = losses.length >= settings.steps;
    const what = over ? `over, all ${settings.steps} steps` : `at step ${losses.length} of ${settings.steps}`;
    show('offer-text', `It began from seed ${settings.seed} and is ${what}.`);
    show('go-on', over ? 'Show it' : `Go on from step ${losses.length}`);
    find('offer').hidden = false;
  }

  async #offerKept(copy: Uint8Array | undefined): Promise<void> {
    // Of the run that failed, if it got as far as being kept. A worker that cannot start has been complained of.
    const begun = this.#machine && (await this.#running.start(this.#machine).catch(() => undefined));
    // The page's own copy: there may be no storage.
    const history = begun && copy && (await this.#running.stored(copy).catch(() => undefined));
    if (history && this.state === 'error') this.#offer(history, copy);
  }

  #describe(): void {
    linkTo({ ...this.settings, ...machinePart(this.#machine) }, this.#run !== undefined);
  }

  #listen(): void {
    const run = (work: () => Promise<void>) => (event: Event) => {
      event.preventDefault();
      work().catch(this.fail);
    };
    find('controls').addEventListener(
      'submit',
      run(async () => {
        const typing = document.activeElement?.closest('#fields') != null;
        if (this.state === 'starting' || this.state === 'testing') return;
        if (this.state === 'training' && !typing) await this.#pause();
        else if (this.state === 'paused' && !typing) this.#resume();
        else {
          const order = this.#read();
          if (order) await this.#train(order);
        }
      }),
    );
    find('reset').addEventListener('click', run(() => this.#reset())); // prettier-ignore
    find('go-on').addEventListener('click', run(() => this.#goOn())); // prettier-ignore
    find('forget').addEventListener(
      'click',
      run(async () => {
        this.#kept = undefined;
        find('offer').hidden = true;
        await this.#running.forget();
      }),
    );
    bringWeights({
      name: () => `${this.#spec.facts.name}-seed${this.settings.seed}-step${this.#progress.curves.step}`,
      give: () => this.#running.weights(),
      take: async (file) => {
        this.#progress.look(await this.#running.upload(file));
        find('measure').hidden = true; // it was of other weights
      },
      failed: (error) => {
        this.complain(error);
      },
    });
  }

  #resume(): void {
    const { step } = this.#progress.curves;
    show('summary', `Training again, from step ${step + 1} of ${this.settings.steps}.`);
    this.#enter('training');
    this.#run?.resume();
  }

  async #goOn(): Promise<void> {
    const order = this.#read();
    if (!this.#kept || !order) return;
    const { history, from } = this.#kept;
    const settings = history.settings as Settings<R>;
    this.#form.write(settings);
    await this.#train({ ...order, settings }, history, from);
  }
}

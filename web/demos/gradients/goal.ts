// What a network of sines can be trained for here: a picture by its derivatives, or an equation.

import type { Tensor } from 'omnigrad';
import type { Stateful } from 'omnigrad/train';
import type { Measure } from '../shared/task.js';
import type { SineNet } from './model.js';

export interface Goal<View> {
  readonly net: SineNet;
  /** What the visitor gave: a checkpoint keeps it, so that a resumed run goes on with it. */
  readonly given: Stateful;
  /** Of points that are drawn anew; holds derivatives of the network with respect to them. */
  loss(): Tensor;
  /** How far it is, by the name of its curve. */
  curve(): Readonly<Record<string, number>>;
  look(): View;
  /** The network has got other weights: what is shown was theirs that it had. */
  renewed(): void;
  measure(): Measure;
  dispose(): void;
}

// Colours of images with values from 0 to 1, channels red, green, blue.

import { tensor } from '../../create.js';
import { type Rule, checkOptions, share } from '../../options.js';
import { cat, clamp, remainder, where } from '../../ops.generated.js';
import type { Tensor } from '../../tensor.js';
import { type Transform, drawNumbers, luminance, sizesOf, transformOf } from './transform.js';

export interface ColorJitterOptions {
  /** Times a number from 1 - b to 1 + b. */
  readonly brightness?: number;
  /** Away from, or towards, the mean luminance, likewise. */
  readonly contrast?: number;
  /** Away from, or towards, grey, likewise. */
  readonly saturation?: number;
  /** Around the circle of hues, by at most this share of it, either way; up to 0.5. */
  readonly hue?: number;
}

const half: Rule = {
  text: 'a number from 0 to 0.5',
  test: (v) => typeof v === 'number' && v >= 0 && v <= 0.5,
};

/** Changes colours by chance, each image's its own way: brightness, contrast, saturation, hue, in this order. */
export function colorJitter(options: ColorJitterOptions): Transform {
  checkOptions('colorJitter', options, { brightness: share, contrast: share, saturation: share, hue: half });
  const { brightness = 0, contrast = 0, saturation = 0, hue = 0 } = options;
  return transformOf({
    name: 'colorJitter',
    floating: true,
    run(x, generator) {
      const [n] = sizesOf(x);
      const each = (low: number, high: number): Tensor =>
        tensor(drawNumbers(generator, n, low, high), { shape: [n, 1, 1, 1], dtype: x.dtype });
      let y = x;
      if (brightness > 0) y = clamp(y.mul(each(1 - brightness, 1 + brightness)), 0, 1);
      if (contrast > 0) {
        const mean = luminance('colorJitter', y).mean([1, 2, 3], { keepdim: true });
        y = clamp(mean.add(y.sub(mean).mul(each(1 - contrast, 1 + contrast))), 0, 1);
      }
      if (saturation > 0) {
        const grey = luminance('colorJitter', y);
        y = clamp(grey.add(y.sub(grey).mul(each(1 - saturation, 1 + saturation))), 0, 1);
      }
      return hue > 0 ? turned(y, each(-hue, hue)) : y;
    },
  });
}

// Through hue, saturation and value. https://en.wikipedia.org/wiki/HSL_and_HSV
function turned(x: Tensor, by: Tensor): Tensor {
  luminance('colorJitter', x);
  const [red, green, blue] = [0, 1, 2].map((c) => x.at(':', [c, c + 1])) as [Tensor, Tensor, Tensor];
  const value = x.amax([1], { keepdim: true });
  const chroma = value.sub(x.amin([1], { keepdim: true }));
  // Of grey, which has no hue, a division by 1.
  const safe = chroma.add(chroma.eq(0).cast(chroma.dtype));
  const sixth = where(
    value.eq(red),
    green.sub(blue).div(safe),
    where(value.eq(green), blue.sub(red).div(safe).add(2), red.sub(green).div(safe).add(4)),
  );
  const hue = sixth.add(by.mul(6)).add(6);
  const channel = (n: number): Tensor => {
    const k = remainder(hue.add(n), 6);
    return value.sub(chroma.mul(clamp(k.minimum(k.neg().add(4)), 0, 1)));
  };
  return cat([channel(5), channel(3), channel(1)], 1);
}

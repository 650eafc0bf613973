// The photographs in `data/photos/`, without the ending; DATA.md has where they come from.

export const photoNames = [
  'astronaut',
  'chelsea',
  'coffee',
  'dust-bowl-home',
  'french-alpine-landscape',
  'nagasaki-boats',
] as const;
export type PhotoName = (typeof photoNames)[number];

/** What they show, in words. */
export const photoTitles: Readonly<Record<PhotoName, string>> = {
  astronaut: 'the astronaut',
  chelsea: 'the cat',
  coffee: 'the cup of coffee',
  'dust-bowl-home': 'the Dust Bowl home',
  'french-alpine-landscape': 'the Alps',
  'nagasaki-boats': 'the boats of Nagasaki',
};

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

import fc from 'fast-check';

/** Any JavaScript string: pairs of surrogates are common, and so are halves of them in every order. */
export const anyText = fc
  .array(
    fc.oneof(
      fc.string({ maxLength: 4 }),
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom('\ud83d', '\ude00', '\ud800', '\udfff', 'é', '€', '😀', '\u0000', '"', '\n'),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

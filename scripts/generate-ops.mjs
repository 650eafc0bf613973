// Writes web/src/ops.generated.ts and web/src/methods.generated.ts from the schema that the single-threaded module
// tells. With --check it writes nothing and fails if they are stale. Rule of signatures: required inputs, then
// positional options, then one options object with the rest.
// usage: node scripts/generate-ops.mjs [--check] [--schema FILE]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentedSchema } from './lib/schema.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const check = process.argv.includes('--check');
const schemaFile = process.argv.includes('--schema')
  ? process.argv[process.argv.indexOf('--schema') + 1]
  : undefined;

// Ops whose inputs may be plain numbers, that take the other's dtype.
const scalarOps = new Set(
  'add sub mul div maximum minimum pow atan2 hypot remainder fmod floorDivide lerp eq ne lt le gt ge where'.split(
    ' ',
  ),
);
// Ops that are methods of Tensor too.
const methodNames = `neg abs exp log sqrt square reciprocal relu sigmoid tanh sin cos
  add sub mul div maximum minimum pow eq ne lt le gt ge sum mean amax amin argmax
  reshape permute expand select slice flip indexSelect indexAdd gather scatterAdd split
  matmul softmax logSoftmax cast clone copy_ fill_
  var std norm prod any all cumsum cumprod logsumexp argmin sort argsort topk median
  floor ceil round trunc sign clamp erf log1p expm1 rsqrt isnan tril triu diagonal roll repeat maskedFill`.split(
  /\s+/,
);
const inPlace = new Set(['copy_', 'fill_']);
// Ops that give a list, as long as the options say.
const listOps = new Set(['split', 'meshgrid']);
// Words that cannot name a function or parameter: the function is declared with a `_` and exported under its name.
const reserved = new Set(['var', 'delete', 'default', 'in', 'new', 'switch', 'case', 'function']);
const identifier = (name) => (reserved.has(name) ? `${name}_` : name);

const loadSchema = async () =>
  schemaFile ? JSON.parse(readFileSync(schemaFile, 'utf8')) : documentedSchema();

const valueTypes = {
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  text: 'string',
  dims: 'Sizes',
  padding: 'PaddingSizes',
};

function optionType(option) {
  if (option.type === 'choice') return option.choices.map((c) => `'${c}'`).join(' | ');
  const type = valueTypes[option.type];
  if (!type) throw new Error(`option ${option.name} has unknown type ${option.type}`);
  return type;
}

const upper = (name) => name[0].toUpperCase() + name.slice(1).replace(/_$/, '');

// A positional option may be left out where absence means something: null, a reduction over all dimensions, or joining
// along the first.
function mayBeAbsent(option, op) {
  if (op?.inputs.some((i) => i.variadic) && option.name === 'dim') return true;
  if (mayBeNull(option)) return true;
  return option.name === 'dim' && Array.isArray(option.default) && option.default.length === 0;
}

const mayBeNull = (option) => option.default === null || option.optional === true;

function describe(op) {
  const required = op.inputs.filter((i) => !i.optional);
  const optionalInputs = op.inputs.filter((i) => i.optional);
  const positional = op.options.filter((o) => o.positional);
  const named = op.options.filter((o) => !o.positional);
  const outputs = op.outputs.length;
  const toggled = op.outputs.find((o) => o.when)?.when;
  return { op, required, optionalInputs, positional, named, outputs, toggled };
}

function inputType(op, input) {
  if (input.variadic) return 'readonly Tensor[]';
  const number = scalarOps.has(op.name) && input.kind !== 'boolean';
  return number ? 'Tensor | number' : 'Tensor';
}

function resultType({ op, outputs, toggled }, shown) {
  if (listOps.has(op.name)) return 'Tensor[]';
  const count = toggled ? op.outputs.filter((o) => !o.when || shown).length : outputs;
  if (count === 0) return 'void';
  return count === 1 ? 'Tensor' : `[${op.outputs.map((o) => `${o.name}: Tensor`).join(', ')}]`;
}

// Required inputs and positional options in the schema's order; the first input leads, being a method's `this`, unless
// it is a list: einsum's equation comes before its operands.
function positionals(d) {
  const lead = d.required[0]?.variadic ? [] : d.required.slice(0, 1);
  const order = (x) => x.order ?? 0;
  const rest = [...d.required.slice(lead.length), ...d.positional];
  return [...lead, ...rest.sort((a, b) => order(a) - order(b))];
}

function parameters(d, { skipFirst = false, options }) {
  const items = positionals(d).slice(skipFirst ? 1 : 0);
  const omissible = items.map((item) => d.positional.includes(item) && mayBeAbsent(item, d.op));
  const list = items.map((item, i) => {
    const name = identifier(item.name);
    if (d.required.includes(item)) return `${name}: ${inputType(d.op, item)}`;
    const type = optionType(item) + (mayBeNull(item) ? ' | null' : '');
    return omissible.slice(i).every(Boolean) ? `${name}?: ${type}` : `${name}: ${type}`;
  });
  if (options) list.push(options);
  return list.join(', ');
}

// In Markdown, a line that begins with [text]: defines a link.
const clean = (text) =>
  (text ?? '')
    .replace(/\*\//g, '* /')
    .replace(/\s+/g, ' ')
    .replace(/^(\[[^\]]*\]):/, '$1,')
    .trim();

// Where negative numbers are indices too, an input says so itself.
function kindText(input) {
  return input.kind === 'index' && !/negative/.test(input.doc) ? 'index: integers from 0' : input.kind;
}

function docLines(d, skipFirst) {
  const lines = [clean(d.op.doc) || d.op.name];
  const entries = [];
  for (const item of positionals(d).slice(skipFirst ? 1 : 0)) {
    const kind = item.kind ? ` (${kindText(item)})` : '';
    entries.push(`@param ${identifier(item.name)} ${clean(item.doc) || 'a tensor'}${kind}`);
  }
  if (d.optionalInputs.length + d.named.length > 0) {
    const list = [...d.optionalInputs, ...d.named].map((o) => `\`${o.name}\``).join(', ');
    entries.push(`@param options ${list}; see ${upper(d.op.name)}Options`);
  }
  if (d.outputs > 1)
    entries.push(
      `@returns ${d.op.outputs.map((o) => o.name + (o.when ? ` (with ${o.when})` : '')).join(', ')}`,
    );
  return entries.length > 0 ? [...lines, '', ...entries] : lines;
}

function jsdoc(lines, indent = '') {
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((l) => `${indent} * ${l}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

function optionsInterface(d) {
  if (d.optionalInputs.length + d.named.length === 0) return '';
  const fields = [];
  for (const i of d.optionalInputs) {
    fields.push(
      `  /** ${clean(i.doc) || 'a tensor'} (${kindText(i)}) */\n  readonly ${i.name}?: ${i.variadic ? 'readonly Tensor[]' : 'Tensor'} | null | undefined;\n`,
    );
  }
  for (const o of d.named) {
    const note =
      o.default === null || o.default === undefined ? '' : `; default ${JSON.stringify(o.default)}`;
    const type = optionType(o) + (mayBeNull(o) ? ' | null' : '');
    fields.push(`  /** ${clean(o.doc) || o.name}${note} */\n  readonly ${o.name}?: ${type} | undefined;\n`);
  }
  return `export interface ${upper(d.op.name)}Options {\n${fields.join('')}}\n\n`;
}

function hasOptions(d) {
  return d.optionalInputs.length + d.named.length > 0;
}

// The signatures to show: two where an option shows more outputs.
function signatures(d, skipFirst) {
  const type = `${upper(d.op.name)}Options`;
  if (!d.toggled) {
    return [
      [parameters(d, { skipFirst, options: hasOptions(d) ? `options?: ${type}` : '' }), resultType(d, true)],
    ];
  }
  const shown = `options: ${type} & { readonly ${d.toggled}: true }`;
  return [
    [parameters(d, { skipFirst, options: shown }).replaceAll('?: ', ': '), resultType(d, true)],
    [parameters(d, { skipFirst, options: `options?: ${type}` }), resultType(d, false)],
  ];
}

function functionText(d) {
  const { op } = d;
  const required = `[${d.required.map((i) => identifier(i.name)).join(', ')}]`;
  const positional = `[${d.positional.map((o) => identifier(o.name)).join(', ')}]`;
  const args = [`'${op.name}'`, required];
  if (d.positional.length > 0 || hasOptions(d)) args.push(positional);
  if (hasOptions(d)) args.push('options');
  const list = signatures(d, false);
  const result = list.at(0)[1];
  const name = identifier(op.name);
  const exported = name === op.name ? 'export ' : '';
  const heads = d.toggled ? list.map(([p, r]) => `export function ${name}(${p}): ${r};\n`).join('') : '';
  const all = parameters(d, { options: hasOptions(d) ? `options?: ${upper(op.name)}Options` : '' });
  const type = d.toggled ? 'Tensor | Tensor[]' : result;
  let body;
  if (d.toggled) body = `return oneOrMany(${args.join(', ')})`;
  else if (result === 'void') body = `many(${args.join(', ')})`;
  else if (result === 'Tensor') body = `return one(${args.join(', ')})`;
  else if (result === 'Tensor[]') body = `return many(${args.join(', ')})`;
  else body = `return many(${args.join(', ')}) as ${result}`;
  return `${jsdoc(docLines(d, false))}${heads}${exported}function ${name}(${all}): ${type} {\n  ${guard(d)}${body};\n}\n${exported ? '' : `export { ${name} as ${op.name} };\n`}\n`;
}

// Where a list of numbers comes last, numbers given one by one would be dropped: permute(x, 1, 0).
function guard(d) {
  const items = positionals(d);
  if (hasOptions(d) || items.at(-1)?.type !== 'dims') return '';
  return `if (arguments.length > ${items.length}) throw tooMany('${d.op.name}', ${items.length}, arguments);\n  `;
}

function opsText(list) {
  const helpers = ['many', 'one', 'oneOrMany'];
  const body = list.map((d) => optionsInterface(d) + functionText(d)).join('');
  const used = helpers.filter((h) => new RegExp(`\\b${h}\\(`).test(body));
  return `// Generated by scripts/generate-ops.mjs from the module's schema; do not edit. One function an op.

import { ${used.join(', ')} } from './dispatch.js';
import { tooMany } from './errors.js';
import type { Tensor } from './tensor.js';

/** A number for every dimension concerned, or one each. */
export type Sizes = number | readonly number[];

/** A number, one an axis, or [before, after] an axis. */
export type PaddingSizes = Sizes | readonly (readonly [number, number])[];

${body}`;
}

function methodsText(list) {
  const methods = methodNames.map((name) => list.find((d) => d.op.name === name)).filter(Boolean);
  const entries = methods.map((d) => {
    const heads = signatures(d, true).map(
      ([p, r]) => `  ${d.op.name}(${p}): ${inPlace.has(d.op.name) ? 'this' : r};\n`,
    );
    return jsdoc(docLines(d, true), '  ') + heads.join('');
  });
  const table = methods.map((d) => {
    if (!inPlace.has(d.op.name)) return `    ${d.op.name}: ops.${d.op.name} as Method,\n`;
    return `    ${d.op.name}: inPlace(ops.${d.op.name} as Method),\n`;
  });
  const types = [...new Set(entries.join('').match(/\b(\w+Options|Sizes|PaddingSizes)\b/g) ?? [])].filter(
    (t) => entries.some((e) => new RegExp(`(: |\\| )${t}\\b`).test(e)),
  );
  return `// Generated by scripts/generate-ops.mjs from the module's schema; do not edit. The ops that are methods of Tensor.

import * as ops from './ops.generated.js';
import type { ${types.sort().join(', ')} } from './ops.generated.js';
import type { Tensor } from './tensor.js';

export interface TensorMethods {
${entries.join('\n')}}

type Method = (self: Tensor, ...rest: unknown[]) => unknown;

function inPlace(fn: Method): Method {
  return (self, ...rest) => {
    fn(self, ...rest);
    return self;
  };
}

/** A function, so that it may be called while modules that import each other are still being evaluated. */
export function methodTable(): Record<keyof TensorMethods, Method> {
  return {
${table.join('')}  };
}
`;
}

async function formatted(path, text) {
  try {
    const prettier = await import('prettier');
    return await prettier.format(text, { ...(await prettier.resolveConfig(path)), parser: 'typescript' });
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return text;
  }
}

const schema = await loadSchema();
const list = schema.ops.filter((op) => !op.internal).map(describe);
let stale = false;
for (const [name, text] of [
  ['ops.generated.ts', opsText(list)],
  ['methods.generated.ts', methodsText(list)],
]) {
  const path = join(root, 'web/src', name);
  const wanted = await formatted(path, text);
  const found = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (wanted === found) continue;
  stale = true;
  if (check) console.error(`web/src/${name} is stale: run node scripts/generate-ops.mjs`);
  else writeFileSync(path, wanted);
}
if (check && stale) process.exitCode = 1;

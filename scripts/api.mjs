// npm run api [-- --check]: writes tests/types/api.txt, every public name of every entry with its declaration, from the
// built package. With --check it writes nothing, says what differs, and ends with status 1. A line that goes away or
// changes is a major version; see CHANGELOG.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { root } from './lib/run.mjs';

const target = join(root, 'tests/types/api.txt');
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.entries(exports).filter(([, paths]) => typeof paths === 'object');
const program = ts.createProgram(
  entries.map(([, { types }]) => join(root, types)),
  { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, skipLibCheck: true },
);
const checker = program.getTypeChecker();
const printer = ts.createPrinter({ removeComments: true });

/** A declaration in one line, without comments and without what is private. */
function textOf(node) {
  const visible = ts.transform(node, [
    (context) => (top) => {
      const visit = (inner) => {
        const hidden =
          ts.canHaveModifiers(inner) &&
          ts.getModifiers(inner)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
        if (hidden || (inner.name && ts.isPrivateIdentifier(inner.name))) return undefined;
        return ts.visitEachChild(inner, visit, context);
      };
      return ts.visitNode(top, visit);
    },
  ]).transformed[0];
  const shown =
    ts.isVariableDeclaration(visible) || ts.isNamespaceExport(visible)
      ? `const ${print(visible, node)}`
      : print(visible, node);
  return shown.replace(/^export (declare )?/, '').replace(/\s+/g, ' ');
}
const print = (visible, node) => printer.printNode(ts.EmitHint.Unspecified, visible, node.getSourceFile());

// What other entries have too is told once, where it comes first.
const told = new Map();

function linesOf(entry, name, symbol) {
  const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  if (told.has(real)) return [`${name}: ${told.get(real)}`];
  told.set(real, entry);
  if (real.flags & ts.SymbolFlags.ValueModule)
    return checker
      .getExportsOfModule(real)
      .flatMap((inner) => linesOf(entry, `${name}.${inner.name}`, inner));
  return (real.declarations ?? []).map((node) => `${name}: ${textOf(node)}`);
}

export function report() {
  const parts = entries.map(([entry, { types }]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(join(root, types)));
    const lines = checker
      .getExportsOfModule(module)
      .flatMap((symbol) => linesOf(`omnigrad${entry.slice(1)}`, symbol.name, symbol))
      .sort();
    return `# omnigrad${entry.slice(1)}\n\n${lines.join('\n')}\n`;
  });
  return parts.join('\n');
}

function differences(before, after) {
  const [old, now] = [new Set(before.split('\n')), new Set(after.split('\n'))];
  return [
    ...[...old].filter((line) => !now.has(line)).map((line) => `- ${line}`),
    ...[...now].filter((line) => !old.has(line)).map((line) => `+ ${line}`),
  ];
}

const text = report();
if (process.argv.includes('--check')) {
  const changed = differences(readFileSync(target, 'utf8'), text);
  for (const line of changed) console.log(line.slice(0, 300));
  if (changed.length > 0) {
    console.log('The public API has changed. If that is meant: npm run api, and a line in CHANGELOG.md.');
    process.exitCode = 1;
  }
} else writeFileSync(target, text);

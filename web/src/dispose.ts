// The name of the method that `using` calls. Alone, since both Tensor and scopes have it, and each may be loaded first.

/** `Symbol.dispose` where the engine has it. */
export const disposeSymbol: symbol = (Symbol as { dispose?: symbol }).dispose ?? Symbol.for('Symbol.dispose');

//! Finds the places where a mistake can be made.
//!
//! Constants, patterns, macros and tests are left out: a switch needs code that runs.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ImplItemFn, Item, ItemFn, Lit, ReturnType, Signature, Stmt};

use crate::point::{Change, Point};

/// Returns the points of a source file, in order.
pub fn points_in(source: &str) -> syn::Result<Vec<Point>> {
    let file = syn::parse_file(source)?;
    let mut search = Search {
        points: Vec::new(),
        functions: Vec::new(),
    };
    search.visit_file(&file);
    Ok(search.points)
}

struct Search {
    points: Vec<Point>,
    /// The functions around the present place.
    functions: Vec<String>,
}

fn bytes(span: Span) -> Range<usize> {
    span.byte_range()
}

impl Search {
    fn add(&mut self, span: Span, range: Range<usize>, change: Change) {
        // Outside functions there are only constants.
        if let Some(function) = self.functions.last() {
            self.points.push(Point {
                range,
                line: span.start().line,
                function: function.clone(),
                change,
            });
        }
    }

    fn function(&mut self, signature: &Signature, attributes: &[syn::Attribute], block: &Block) {
        let name = signature.ident.to_string();
        if signature.constness.is_some() || is_test(attributes) || name == "fmt" {
            return;
        }
        self.functions.push(name);
        if let Some(value) = early_value(&signature.output)
            && block.stmts.len() > 1
        {
            let open = block.brace_token.span.open();
            let at = bytes(open).end;
            for value in value {
                self.add(open, at..at, Change::Return(value));
            }
        }
        self.visit_block(block);
        self.functions.pop();
    }

    fn condition(&mut self, condition: &Expr) {
        if !has_let(condition) {
            let span = condition.span();
            self.add(span, bytes(span), Change::Negation);
        }
    }
}

/// Returns what a function of this type can return without having done anything.
fn early_value(output: &ReturnType) -> Option<&'static [&'static str]> {
    let ReturnType::Type(_, kind) = output else {
        return Some(&["()"]);
    };
    let syn::Type::Path(path) = &**kind else {
        return None;
    };
    let last = path.path.segments.last()?;
    match last.ident.to_string().as_str() {
        "bool" => Some(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => Some(&["0", "1"]),
        "f64" => Some(&["0.0", "1.0"]),
        "Option" => Some(&["None"]),
        "Verdict" => Some(&["Verdict::New", "Verdict::Seen"]),
        "Result" => {
            let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return None;
            };
            match arguments.args.first()? {
                syn::GenericArgument::Type(syn::Type::Tuple(unit)) if unit.elems.is_empty() => {
                    Some(&["Ok(())"])
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_configured = attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "test");
        is_configured || attribute.path().is_ident("test")
    })
}

/// Whether a condition binds names, as in `if let`.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(inner) => has_let(&inner.expr),
        _ => false,
    }
}

fn operators(operator: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        BinOp::Add(_) => ("+", "-"),
        BinOp::Sub(_) => ("-", "+"),
        BinOp::Mul(_) => ("*", "+"),
        BinOp::Div(_) => ("/", "*"),
        BinOp::Rem(_) => ("%", "/"),
        BinOp::And(_) => ("&&", "||"),
        BinOp::Or(_) => ("||", "&&"),
        BinOp::BitAnd(_) => ("&", "|"),
        BinOp::BitOr(_) => ("|", "&"),
        BinOp::BitXor(_) => ("^", "|"),
        BinOp::Shl(_) => ("<<", ">>"),
        BinOp::Shr(_) => (">>", "<<"),
        BinOp::Eq(_) => ("==", "!="),
        BinOp::Ne(_) => ("!=", "=="),
        BinOp::Lt(_) => ("<", "<="),
        BinOp::Le(_) => ("<=", "<"),
        BinOp::Gt(_) => (">", ">="),
        BinOp::Ge(_) => (">=", ">"),
        _ => return None,
    })
}

impl<'ast> Visit<'ast> for Search {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Const(_) | Item::Static(_) | Item::Macro(_) | Item::Enum(_) => {}
            Item::Mod(module) if is_test(&module.attrs) => {}
            item => visit::visit_item(self, item),
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, &item.attrs, block);
        }
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        // The length is a constant.
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_if(&mut self, item: &'ast syn::ExprIf) {
        self.condition(&item.cond);
        visit::visit_expr_if(self, item);
    }

    fn visit_expr_while(&mut self, item: &'ast syn::ExprWhile) {
        self.condition(&item.cond);
        visit::visit_expr_while(self, item);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if let Some((from, to)) = operators(&binary.op)
            && !has_let(&binary.left)
            && !has_let(&binary.right)
        {
            let span = binary.span();
            let (left, right) = (bytes(binary.left.span()), bytes(binary.right.span()));
            self.add(
                span,
                bytes(span),
                Change::Operator {
                    left,
                    right,
                    from,
                    to,
                },
            );
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_lit(&mut self, literal: &'ast syn::ExprLit) {
        let Lit::Int(number) = &literal.lit else {
            return;
        };
        if let Ok(value) = number.base10_parse::<u128>() {
            let other = format!("{}{}", value + 1, number.suffix());
            self.add(number.span(), bytes(number.span()), Change::Number(other));
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement {
            let can_be_left_out = matches!(
                expression,
                Expr::Assign(_)
                    | Expr::Call(_)
                    | Expr::MethodCall(_)
                    | Expr::Binary(_)
                    | Expr::Try(_)
            );
            if can_be_left_out {
                let span = statement.span();
                self.add(span, bytes(span), Change::Deletion);
            }
        }
        visit::visit_stmt(self, statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(source: &str) -> Vec<String> {
        let points = points_in(source).expect("Rust");
        points.iter().map(|point| point.describe(source)).collect()
    }

    #[test]
    fn constants_patterns_and_tests_have_no_points() {
        let source = "
            const A: u64 = 1 + 2;
            const fn b() -> u64 { 3 + 4 }
            fn c(x: u64) { match x { 5 => (), _ => () } }
            #[cfg(test)] mod tests { fn d() -> u64 { let a = 6; a + 7 } }
            impl std::fmt::Display for E { fn fmt(&self) -> u64 { 8 + 9 } }
        ";
        assert_eq!(described(source), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_mistake_is_found() {
        let source = "fn f(a: u64) -> bool { if a < 3 { g(a); } a == 4 }";
        let found = described(source);
        for expected in [
            "returns true at once",
            "returns false at once",
            "`a < 3` negated",
            "`a < 3`: <= for <",
            "4 for 3",
            "without `g(a);`",
            "`a == 4`: != for ==",
            "5 for 4",
        ] {
            let expected = format!("in f: {expected}");
            assert!(found.contains(&expected), "{expected}: {found:?}");
        }
        assert_eq!(found.len(), 8);
    }
}

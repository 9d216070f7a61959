//! What follows from the list of filters: modules, re-exports, [`AnyFilter`](super::AnyFilter),
//! the registry of descriptors, and dispatch.

macro_rules! filters {
    ($($(#[$condition:meta])? $module:ident::$filter:ident),+ $(,)?) => {
        $($(#[$condition])? mod $module;)+
        $($(#[$condition])? #[doc(hidden)] pub use $module::$filter;)+

        /// A filter chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyFilter {
            $(
                $(#[$condition])?
                #[doc = concat!("The filter `", stringify!($module), "`.")]
                $filter($filter)
            ),+
        }

        /// Returns the descriptors of all filters, in the order in which they are shown.
        pub fn registry() -> &'static [&'static Descriptor] {
            const { &[$($(#[$condition])? &$filter::DESCRIPTOR),+] }
        }

        /// Returns the names of the filters that can remove a key.
        pub fn filters_that_forget() -> Vec<&'static str> {
            let mut names = Vec::new();
            $(
                $(#[$condition])?
                if $filter::FORGETS {
                    names.push($filter::DESCRIPTOR.name);
                }
            )+
            names
        }

        /// Returns the names of the filters whose states can be united.
        pub fn filters_that_merge() -> Vec<&'static str> {
            let mut names = Vec::new();
            $(
                $(#[$condition])?
                if $filter::MERGES {
                    names.push($filter::DESCRIPTOR.name);
                }
            )+
            names
        }

        /// Builds the filter of a spec. The memory is within the limits of all filters.
        fn build(spec: &FilterSpec, memory_bits: u64) -> Result<AnyFilter, BuildError> {
            let name = spec.descriptor().name;
            $(
                $(#[$condition])?
                if name == $filter::DESCRIPTOR.name {
                    return $filter::build(spec, memory_bits).map(AnyFilter::$filter);
                }
            )+
            unreachable!("a spec is parsed from the registry")
        }

        /// Evaluates an expression for the concrete filter inside an [`AnyFilter`].
        macro_rules! dispatch {
            ($any:expr, $name:ident => $call:expr) => {
                match $any { $($(#[$condition])? AnyFilter::$filter($name) => $call),+ }
            };
        }
    };
}
